import { parseDuration } from '@signalbox/protocol/duration';
import { useState } from 'preact/hooks';

/** The times of a field, each a value and its label. The empty value is no time, and `other` one that the person writes. */
export type Times = readonly (readonly [string, string])[];

/** The state of a {@link TimeChoice}. */
export interface ChosenTime {
  choice: string;
  written: string;
  /** The time as it was chosen or written; empty if none was. */
  text: string;
  /** The time in milliseconds. `undefined` if none was chosen, or the written text is not a time. */
  ms: number | undefined;
  isWrong: boolean;
  choose: (choice: string) => void;
  write: (text: string) => void;
}

/** Returns the state of a choice between no time, a common time, and one that the person writes. `own` is the first text of that. */
export function useChosenTime(
  own: string,
  { least = 1, most = Number.POSITIVE_INFINITY }: { least?: number; most?: number } = {},
): ChosenTime {
  const [choice, choose] = useState('');
  const [written, write] = useState(own);
  const text = choice === 'other' ? written.trim() : choice;
  const ms = choice === '' ? undefined : parseDuration(text);
  const isWrong = choice !== '' && (ms === undefined || ms < least || ms > most);
  return { choice, written, text, ms, isWrong, choose, write };
}

/** The fields of a time: a choice, and a field of its own for another time. */
export function TimeChoice({
  label,
  ownLabel,
  times,
  of: { choice, written, isWrong, choose, write },
}: {
  label: string;
  ownLabel: string;
  times: Times;
  of: ChosenTime;
}) {
  return (
    <>
      <label>
        <span>{label}</span>
        <select value={choice} onChange={(event) => choose(event.currentTarget.value)}>
          {times.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
      {choice === 'other' && (
        <label>
          <span>{ownLabel}</span>
          <input
            value={written}
            autocomplete="off"
            aria-invalid={isWrong}
            onInput={(event) => write(event.currentTarget.value)}
          />
        </label>
      )}
    </>
  );
}
