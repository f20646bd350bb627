import { formatElapsed } from '@signalbox/protocol/duration';
import type { ProcessEnd, RunEvent } from '@signalbox/worker/internal';
import { count, printNotes, snakeKeys } from '../../terminal/output.ts';

/** Returns a function that writes events to standard error, as lines of JSON or lines for people. */
export function reportRun(options: { json: boolean; terminal: boolean }): (event: RunEvent) => void {
  return (event) => {
    if (options.json) process.stderr.write(`${JSON.stringify(snakeKeys(event))}\n`);
    else if (!(options.terminal && isRoutine(event))) printNotes(`signalbox: ${textOf(event)}`);
  };
}

/** Returns true for events that would only disturb an agent's own screen. */
function isRoutine(event: RunEvent): boolean {
  return event.event === 'started' || event.event === 'ready' || isNotReady(event);
}

function isNotReady(event: RunEvent): boolean {
  return event.event === 'warning' && event.code === 'not_ready';
}

function textOf(event: RunEvent): string {
  const { agent } = event;
  switch (event.event) {
    case 'started':
      return `${agent} started: ${event.command}, process ${event.pid}`;
    case 'ready':
      return `${agent} is ready after ${formatElapsed(event.afterMs)}: its client has listed our tools`;
    case 'tools_lost':
      return `${agent} has lost its tools: its MCP client ended the connection and opened no other. Restart the agent if they do not come back`;
    case 'tools_back':
      return `${agent} has its tools back after ${formatElapsed(event.lostForMs)}`;
    case 'exited':
      return `${agent} ${endText(event)}${heldText(event.heldIds)}`;
    case 'exit_reported':
      return `${agent}: the broker is back and knows that the process ended${heldText(event.heldIds)}`;
    case 'restarting':
      return `${agent} is started again in ${formatElapsed(event.inMs)} (restart ${event.restarts})`;
    case 'gave_up':
      return `${agent} failed ${event.failures} times within ${formatElapsed(event.withinMs)} and is given up: see above what it wrote, then start it again`;
    case 'warning':
      return `${agent}: ${event.message}`;
  }
}

function endText({ code, signal }: ProcessEnd): string {
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
}

function heldText(ids: readonly string[]): string {
  return ids.length === 0
    ? ''
    : `; ${count(ids.length, 'message')} it had taken and not answered will be handed out again`;
}
