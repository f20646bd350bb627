import type { McpHost } from '@signalbox/mcp-host';
import { call, jsonResult } from './test-host.ts';

export const caller = (agent: string, role = 'any') => ({ caller: { agent, role } });
export const note = async (host: McpHost, server: string, text: string, agent: string, role = 'any') =>
  jsonResult(await call(host, `mcp_${server}__note`, { text }, caller(agent, role))) as {
    pid: number;
    notes: string[];
  };
