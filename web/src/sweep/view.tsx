export function SweepView() {
  return null;
}
