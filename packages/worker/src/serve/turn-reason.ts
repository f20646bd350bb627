import { plainLine } from '../runner/output/output-tail.ts';
import type { TurnEnd } from './turn-task.ts';

/** The longest part of an output in a reason, in characters. The broker keeps 500 characters of a reason. */
const outputLength = 400;

type Failed = Pick<TurnEnd, 'code' | 'endedBy' | 'isLate' | 'told' | 'problem' | 'tail'>;

/** Returns the reason of a failed turn: how its program ended, and what it told, or else the last line that it wrote. */
export function endText(
  { code, endedBy, isLate, told, problem, tail }: Failed,
  turnTimeoutMs: number,
): string {
  const how = isLate
    ? `it took longer than ${Math.round(turnTimeoutMs / 1000)} s and was ended`
    : problem !== undefined
      ? problem
      : code === null
        ? `its program was ended by ${endedBy}`
        : `its program ended with exit code ${code}`;
  const words = told === undefined ? tail.lastLine(outputLength) : plainLine(told, outputLength);
  return words === '' ? how : `${how}: ${words}`;
}
