/** Some of the fields of /proc/PID/stat (proc(5)). */
export interface ProcessStat {
  /** The name of the program, at most 15 bytes. */
  name: string;
  state: string;
  parent: number;
  group: number;
  /** The controlling terminal; 0 if the process has none. */
  terminal: number;
  /** The time of the start, in clock ticks since the boot. */
  startTicks: number;
}

/** Parses the text of /proc/PID/stat. */
export function parseStat(text: string): ProcessStat {
  // The name of the program stands in parentheses, and may hold spaces and parentheses itself.
  const nameEnd = text.lastIndexOf(')');
  const fields = text.slice(nameEnd + 2).split(' ');
  return {
    name: text.slice(text.indexOf('(') + 1, nameEnd),
    state: fields[0] ?? '',
    parent: Number(fields[1]),
    group: Number(fields[2]),
    terminal: Number(fields[4]),
    startTicks: Number(fields[19]),
  };
}

/** Returns true for the state of a process that has ended. */
export function hasEnded({ state }: ProcessStat): boolean {
  return state === 'Z' || state === 'X';
}
