import type { TailEvent } from '@signalbox/client/operator';
import { isOfCall } from '@signalbox/client/operator/internal';

/** Tells which events are worth a line, so that a tool call is one: its end, with the name of the tool. */
export class BriefTail {
  /** False while the orchestrator can't be asked: only the messages of a call then show that there is one. */
  #callsAreNamed = true;

  isShown(event: TailEvent): boolean {
    switch (event.what) {
      case 'calls_missing':
        this.#callsAreNamed = false;
        return true;
      case 'call':
        this.#callsAreNamed = true;
        return event.call.state === 'finished';
      case 'stored':
      case 'scheduled':
      case 'delivered':
        return !(this.#callsAreNamed && isOfCall(event.message.kind));
      case 'settled':
        // A request that nobody answered has no line of its own at the orchestrator.
        return !(this.#callsAreNamed && isOfCall(event.message.kind) && event.outcome === 'acked');
      default:
        return true;
    }
  }
}
