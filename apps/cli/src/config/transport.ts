import type { McpServerEntry } from './server-schema.ts';

/** How an entry's server is reached; `url` alone means http, as other MCP clients read it. */
export function transportOf({ type, transport_type, url }: McpServerEntry): 'stdio' | 'http' {
  const written = type ?? transport_type;
  if (written === undefined) return url === undefined ? 'stdio' : 'http';
  return written === 'stdio' ? 'stdio' : 'http';
}
