import { fileURLToPath } from 'node:url';
import type { StdioServerConfig } from '@signalbox/mcp-host';
import { compileCache } from '@signalbox/testing';

const script = fileURLToPath(new URL('./large-results-server.ts', import.meta.url));
export const large: StdioServerConfig = {
  type: 'stdio',
  command: process.execPath,
  args: [script],
  env: compileCache(),
};
