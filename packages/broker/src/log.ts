/** Takes reports of what happens. `event` is a stable name; the other fields are facts without secrets. */
export type Log = (entry: {
  level: 'debug' | 'info' | 'warn' | 'error';
  event: string;
  [fact: string]: unknown;
}) => void;
