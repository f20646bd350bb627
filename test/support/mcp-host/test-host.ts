import {
  type HostCallOptions,
  type HostEvent,
  type McpHost,
  type McpHostOptions,
  startMcpHost,
} from '@signalbox/mcp-host';
import type { ToolCallResult } from '@signalbox/mcp-host/tool-calls';

/** A host with a log that tests can wait for. */
export interface TestHost extends McpHost {
  events: HostEvent[];
  /** Resolves with the `count`-th event of that name with these facts, as soon as there is one. */
  seen(event: string, facts?: Record<string, unknown>, count?: number): Promise<HostEvent>;
}

export function startTestHost(options: McpHostOptions): TestHost {
  const events: HostEvent[] = [];
  const watchers = new Set<() => void>();
  const host = startMcpHost({
    random: () => 0,
    ...options,
    log: (event) => {
      events.push(event);
      for (const watch of [...watchers]) watch();
    },
  });
  const seen: TestHost['seen'] = (event, facts = {}, count = 1) =>
    new Promise((resolve) => {
      const watch = () => {
        const matching = events.filter(
          (e) => e.event === event && Object.entries(facts).every(([name, value]) => e[name] === value),
        );
        if (matching.length < count) return;
        watchers.delete(watch);
        resolve(matching[count - 1]!);
      };
      watchers.add(watch);
      watch();
    });
  return Object.assign(host, { events, seen });
}

/** Calls a tool with a deadline that no test reaches. */
export function call(
  host: McpHost,
  tool: string,
  args: Record<string, unknown> = {},
  options: Partial<HostCallOptions> = {},
): Promise<ToolCallResult> {
  return host.call(tool, args, { signal: new AbortController().signal, timeoutMs: 20_000, ...options });
}

/** Parses the first text of a result as JSON. Throws for an error. */
export function jsonResult(outcome: ToolCallResult): Record<string, unknown> {
  if ('error' in outcome) throw new Error(`${outcome.error.code}: ${outcome.error.message}`);
  const [{ text } = { text: '' }] = outcome.result.content as { text: string }[];
  return JSON.parse(text);
}
