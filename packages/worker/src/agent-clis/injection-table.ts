import { basename } from 'node:path';
import { injectClaude } from './claude.ts';
import { injectCline } from './cline.ts';
import { injectCodex } from './codex.ts';
import { injectCopilot } from './copilot.ts';
import { injectCursorAgent } from './cursor-agent.ts';
import { injectGemini } from './gemini.ts';
import type { ClientName, Inject, Injection, InjectionContext } from './injection.ts';
import { injectOpencode } from './opencode.ts';
import { injectQwen } from './qwen.ts';

const table: Readonly<Record<ClientName, Inject>> = {
  claude: injectClaude,
  codex: injectCodex,
  copilot: injectCopilot,
  opencode: injectOpencode('opencode', 'OPENCODE_CONFIG_CONTENT'),
  kilo: injectOpencode('kilo', 'KILO_CONFIG_CONTENT'),
  gemini: injectGemini,
  qwen: injectQwen,
  cline: injectCline,
  'cursor-agent': injectCursorAgent,
};

/** The programs of the agents that we know. */
export const agentPrograms: readonly string[] = Object.keys(table);

/**
 * Returns the smallest change that makes an agent's CLI start our MCP server, by the name of its program. An unknown program is left
 * unchanged. Throws `SignalboxError` `usage` if the machine or the environment forbids it.
 */
export function injectionFor(argv: readonly string[], context: InjectionContext): Injection {
  const name = clientOf(argv[0] ?? '');
  if (name !== undefined) return { client: name, ...table[name](argv, context) };
  return {
    ...notInjected(argv),
    notes: [`'${basename(argv[0] ?? '')}' is not an agent that we know: ${byHand}`],
  };
}

/** Returns the injection for `--no-inject`: only the three variables that every agent gets. */
export function notInjected(argv: readonly string[]): Injection {
  return { client: 'other', argv: [...argv], env: {}, files: [], notes: [] };
}

const byHand =
  'it gets no tools unless it starts the MCP server "signalbox worker mcp" itself; its environment holds all that this needs';

/** Returns which agent CLI a program is, by its name; `undefined` for all others. */
export function clientOf(program: string): ClientName | undefined {
  const name = basename(program).replace(/\.(exe|cmd|js)$/, '');
  return Object.hasOwn(table, name) ? (name as ClientName) : undefined;
}
