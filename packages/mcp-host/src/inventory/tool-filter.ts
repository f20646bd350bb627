import { matchesPattern } from '@signalbox/protocol';
import type { McpServerConfig, ServerPolicy } from '../config/server-config.ts';
import { limitsOf, type ServerLimits } from '../config/server-limits.ts';

/** Chooses the tools of a server that are shown, by the server's own names or patterns with `*`. */
export type ToolFilter = Pick<ServerPolicy, 'includeTools' | 'excludeTools'>;

/** A filter on its way through one list of tools. */
export interface ToolSieve {
  /** Returns true if the tool of this name is shown. */
  passes: (name: string) => boolean;
  /** Returns the names and patterns of `includeTools` that no tool has matched. */
  unmatched: () => string[];
}

/** Returns the limits of a server's lists, with the filter of its tools. */
export function listLimitsOf(config: McpServerConfig): ServerLimits & ToolFilter {
  const { includeTools, excludeTools } = config;
  return {
    ...limitsOf(config),
    ...(includeTools && { includeTools }),
    ...(excludeTools && { excludeTools }),
  };
}

/** Begins to filter a list. `excludeTools` is the stronger one. */
export function toolSieve({ includeTools, excludeTools = [] }: ToolFilter): ToolSieve {
  const matched = new Set<string>();
  return {
    passes: (name) => {
      const matching = includeTools?.filter((pattern) => matchesPattern(pattern, name));
      for (const pattern of matching ?? []) matched.add(pattern);
      return matching?.length !== 0 && !excludeTools.some((pattern) => matchesPattern(pattern, name));
    },
    unmatched: () => includeTools?.filter((pattern) => !matched.has(pattern)) ?? [],
  };
}
