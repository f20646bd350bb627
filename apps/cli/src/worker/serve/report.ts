import { formatElapsed } from '@signalbox/protocol/duration';
import type { ServeEvent, TurnOutcome } from '@signalbox/worker/internal';
import { count, printJson, printLines, printNotes, snakeKeys } from '../../terminal/output.ts';

/** Returns a function that prints events: lines of JSON on standard output, or lines for people, of which warnings go to standard error. */
export function reportServe(options: { json: boolean }): (event: ServeEvent) => void {
  return (event) => {
    if (options.json) printJson(snakeKeys(event));
    else if (event.event === 'warning') printNotes(`signalbox: ${textOf(event)}`);
    else printLines(`${new Date().toISOString().slice(11)}  ${textOf(event)}`);
  };
}

const outcomes: Readonly<Record<TurnOutcome, string>> = {
  answered: 'its answer is the reply',
  answered_by_tool: 'the agent replied by tool',
  done: 'done',
  failed: 'it failed, and its messages come again',
  denied: 'it is not tried again',
  timed_out: 'it took too long, and its messages come again',
  withdrawn: 'nobody wants it any more',
  stopped_by_operator: 'an operator ended it, and it is not tried again',
  stopped: 'this command was stopped, and its messages come again',
};

function textOf(event: ServeEvent): string {
  const { agent } = event;
  switch (event.event) {
    case 'serving':
      return `${agent} (${event.role}) is served by ${event.command}; ${count(event.pending, 'message')} waiting`;
    case 'turn_started': {
      const messages = event.messages.map(({ id, from, kind, attempt }) => {
        const again = attempt > 1 ? `, attempt ${attempt}` : '';
        return `${kind} of ${from} (${id}${again})`;
      });
      const how = event.kept
        ? ', which was kept for its thread'
        : event.resumed
          ? ', in the session of its thread'
          : '';
      const process = event.pid === undefined ? '' : `; process ${event.pid}`;
      return `${agent} turn ${event.turn}: ${messages.join(', ')}${process}${how}`;
    }
    case 'turn_ended': {
      const why = event.reason === undefined ? '' : `: ${event.reason}`;
      return `${agent} turn ${event.turn} ended after ${formatElapsed(event.tookMs)}: ${outcomes[event.outcome]}${why}`;
    }
    case 'kept_ended':
      return `${agent}: the process ${event.pid}, which was kept for a thread, has ended: ${event.reason}`;
    case 'already_answered':
      return `${agent}: ${event.id} of ${event.from} was answered by an earlier turn, and is acked now`;
    case 'program_failing':
      return `${agent}: its program fails on every message, so that its mail waits, ${event.nextTryMs < 1000 ? 'less than 1 s' : `at most ${formatElapsed(event.nextTryMs)}`} until the next try: ${event.reason}`;
    case 'program_works':
      return `${agent}: its program works again`;
    case 'stopped':
      return `${agent} is served no longer; ${count(event.givenBack, 'message')} given back`;
    case 'warning':
      return `${agent}: ${event.message}`;
  }
}
