import { startTimer } from '@signalbox/client/internal';
import type { AgentPresence } from './agent-presence.ts';
import type { AgentProcess } from './agent-process.ts';
import type { RunEvent } from './run-event.ts';
import type { RunFace } from './run-face.ts';
import { ToolsWatch } from './tools-watch.ts';

const lineLength = 120;
const announceEveryMs = 1000;
/** The time until the broker is first asked whether the agent has listed its tools, in milliseconds. */
const firstPollMs = 200;
/** The same time for a process whose face tells us earlier, unless the agent uses another one. */
const laterPollMs = 2000;
/** An agent that ends by itself may close its MCP servers some seconds before it is gone. */
const defaultToolsLostMs = 15_000;

/**
 * Announces the status of a process to the broker. Reports once that it is ready or has not become ready in time, and each time that it
 * has lost its tools or has them back.
 */
export function watchProcess(
  { own: { pid }, tail }: AgentProcess,
  run: {
    agent: string;
    readyTimeoutMs: number;
    onEvent: (event: RunEvent) => void;
    presence: AgentPresence;
    command: string;
    restarts: number;
    /** The face whose sessions show the agent's tools; without it only the broker shows them. */
    face?: RunFace | undefined;
    /**
     * The longest time that the agent may be without a connection to the face before its tools count as lost, in milliseconds; default 15 s.
     */
    toolsLostMs?: number | undefined;
    /** True if the agent's CLI was told about the MCP face, so that a connection is expected. */
    expectsFace: boolean;
  },
): { onOutput: () => void; stop: () => void } {
  const { agent, presence, command, restarts, readyTimeoutMs, face, onEvent } = run;
  const startedAt = Date.now();
  const started = performance.now();
  let outputAt: number | undefined;
  let announcing: NodeJS.Timeout | undefined;
  let lostAt: number | undefined;
  const announce = (): void => {
    announcing = undefined;
    presence.announce({
      worker: 'run',
      command,
      pid,
      started_at: startedAt,
      restarts,
      ...(lostAt !== undefined && { tools_lost: true }),
      ...(outputAt !== undefined && { last_output_at: outputAt, last_output: tail.lastLine(lineLength) }),
    });
  };
  const late = setTimeout(() => {
    if (run.expectsFace)
      onEvent({ event: 'warning', agent, code: 'not_ready', message: lateText(readyTimeoutMs) });
  }, readyTimeoutMs);
  const tools = new ToolsWatch({
    lostAfterMs: run.toolsLostMs ?? defaultToolsLostMs,
    startTimer,
    onReady() {
      clearTimeout(late);
      onEvent({ event: 'ready', agent, pid, afterMs: Math.round(performance.now() - started) });
    },
    onLost() {
      lostAt = performance.now();
      announce();
      onEvent({ event: 'tools_lost', agent, pid });
    },
    onBack() {
      const lostForMs = Math.round(performance.now() - lostAt!);
      lostAt = undefined;
      announce();
      onEvent({ event: 'tools_back', agent, pid, lostForMs });
    },
  });
  const unwatch = face?.onSession(agent, (event) => tools.take(event));
  void presence.listed(face ? laterPollMs : firstPollMs).then(() => tools.ready());
  announce();
  return {
    onOutput: () => {
      outputAt = Date.now();
      announcing ??= setTimeout(announce, announceEveryMs);
    },
    stop: () => {
      unwatch?.();
      tools.stop();
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
