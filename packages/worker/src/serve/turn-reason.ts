import type { TurnEnd } from './run-turn.ts';

/** The longest part of an output in a reason, in characters. The broker keeps 500 characters of a reason. */
const outputLength = 400;

/** Returns the reason of a failed turn: how its program ended, and the last line that it wrote. */
export function endText(
  { code, endedBy, isLate, problem, tail }: Pick<TurnEnd, 'code' | 'endedBy' | 'isLate' | 'problem' | 'tail'>,
  turnTimeoutMs: number,
): string {
  const how = isLate
    ? `it took longer than ${Math.round(turnTimeoutMs / 1000)} s and was ended`
    : problem !== undefined
      ? `its output is no answer: ${problem}`
      : code === null
        ? `its program was ended by ${endedBy}`
        : `its program ended with exit code ${code}`;
  const last = tail.lastLine(outputLength);
  return last === '' ? how : `${how}: ${last}`;
}
