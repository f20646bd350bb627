import type { AgentPresence } from './agent-presence.ts';
import type { AgentProcess } from './agent-process.ts';
import type { RunEvent } from './run-event.ts';

const lineLength = 120;
const announceEveryMs = 1000;

/** Announces the status of a process to the broker, and reports once that it is ready or has not become ready in time. */
export function watchProcess(
  { own: { pid }, tail }: AgentProcess,
  run: {
    agent: string;
    readyTimeoutMs: number;
    onEvent: (event: RunEvent) => void;
    presence: AgentPresence;
    command: string;
    restarts: number;
    /** Whether its CLI was told of the MCP face, so that one should connect. */
    expectsFace: boolean;
  },
): { onOutput: () => void; stop: () => void } {
  const { agent, presence, command, restarts, readyTimeoutMs, onEvent } = run;
  const startedAt = Date.now();
  const started = performance.now();
  let outputAt: number | undefined;
  let announcing: NodeJS.Timeout | undefined;
  let over = false;
  const announce = (): void => {
    announcing = undefined;
    presence.announce({
      worker: 'run',
      command,
      pid,
      started_at: startedAt,
      restarts,
      ...(outputAt !== undefined && { last_output_at: outputAt, last_output: tail.lastLine(lineLength) }),
    });
  };
  const late = setTimeout(() => {
    if (run.expectsFace)
      onEvent({ event: 'warning', agent, code: 'not_ready', message: lateText(readyTimeoutMs) });
  }, readyTimeoutMs);
  void presence.ready.then(() => {
    clearTimeout(late);
    if (!over) onEvent({ event: 'ready', agent, pid, afterMs: Math.round(performance.now() - started) });
  });
  announce();
  return {
    onOutput: () => {
      outputAt = Date.now();
      announcing ??= setTimeout(announce, announceEveryMs);
    },
    stop: () => {
      over = true;
      clearTimeout(late);
      clearTimeout(announcing);
    },
  };
}

function lateText(afterMs: number): string {
  return (
    `no MCP client has listed our tools after ${Math.round(afterMs / 1000)} s; the agent runs on. Check that it is signed in, ` +
    'trusts this folder and lists MCP servers (claude: /mcp, others: mcp list), and that an orchestrator is connected'
  );
}
