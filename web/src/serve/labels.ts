/** What the engines are, by their names. */
export const LABELS: Readonly<Record<string, string>> = {
  sim: "The simulator, native: the same bytes as in this page.",
  linux: "Hosts and queues of a real Linux kernel, in virtual time.",
  "linux:sojourn": "Hosts of a real Linux kernel in virtual time, our queues.",
  live: "Hosts of this machine's kernel, our queues, in real time.",
  "live:kernel": "Hosts and queues of this machine's kernel, in real time.",
};
