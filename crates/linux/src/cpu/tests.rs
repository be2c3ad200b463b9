#![cfg(target_os = "linux")]

use super::Cpu;

#[test]
fn no_two_guests_are_held_to_one_cpu() {
    let claimed: Vec<Cpu> = std::iter::from_fn(Cpu::claim).take(64).collect();
    let mut numbers: Vec<usize> = claimed.iter().map(|cpu| cpu.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), claimed.len());
}

#[test]
fn a_program_is_held_to_its_cpu() {
    assert_eq!(Cpu::command(None, "nproc").get_program(), "nproc");
    // Others may have them all.
    let Some(cpu) = Cpu::claim() else { return };
    let output = Cpu::command(Some(&cpu), "nproc").output().unwrap();
    assert_eq!(output.stdout, b"1\n");
}
