import { fileURLToPath } from 'node:url';
import type { StdioServerConfig } from '@signalbox/mcp-host';

/** The server that reports the `_meta` that it got. */
export function metaServer(): StdioServerConfig {
  const script = fileURLToPath(new URL('./meta-server.ts', import.meta.url));
  return { type: 'stdio', command: process.execPath, args: [script] };
}
