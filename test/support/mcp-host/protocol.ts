import { fileURLToPath } from 'node:url';
import type { StdioServerConfig } from '@signalbox/mcp-host';
import { compileCache } from '@signalbox/testing';

export function serverThatKnows(era: string, protocol?: 'auto' | 'legacy'): StdioServerConfig {
  const script = fileURLToPath(new URL('./revision-server.ts', import.meta.url));
  const base: StdioServerConfig = {
    type: 'stdio',
    command: process.execPath,
    args: [script],
    env: { ERA: era, ...compileCache() },
  };
  return protocol === undefined ? base : { ...base, protocol };
}
