/** Receives reports of the broker's events. `event` is a stable name. The other fields are facts without secrets. */
export type Log = (entry: {
  level: 'debug' | 'info' | 'warn' | 'error';
  event: string;
  [fact: string]: unknown;
}) => void;
