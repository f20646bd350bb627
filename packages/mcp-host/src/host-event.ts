/** One line for the log. `event` names the event, the other fields are its facts. */
export interface HostEvent {
  event: string;
  [fact: string]: unknown;
}
