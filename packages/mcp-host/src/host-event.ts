/** One line for the log. `event` says what happened, the other fields are its facts. */
export interface HostEvent {
  event: string;
  [fact: string]: unknown;
}
