import { type Finding, failed, ok } from '../finding.ts';

/** Judges the version of Node, as in `24.21.0`, by the range `>=22.12` of our package. */
export function nodeFinding(version: string, range: string): Finding {
  const needed = range.replace(/^>=/, '');
  if (compared(version, needed) >= 0) return ok(`Node ${version}`);
  return failed(
    `Node ${version} is too old: signalbox needs ${needed} or newer`,
    'start it with bin/signalbox, which uses the Node that npm ci installs on Linux, or install a newer Node',
  );
}

function compared(one: string, other: string): number {
  const [left, right] = [one, other].map((text) => text.split('.').map(Number)) as [number[], number[]];
  const at = [0, 1, 2].find((index) => (left[index] ?? 0) !== (right[index] ?? 0));
  return at === undefined ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}
