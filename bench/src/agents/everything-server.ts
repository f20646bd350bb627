import { createRequire } from 'node:module';

const script = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
);

/** The MCP server that is hosted where memory is measured. */
export const everythingServer = { name: 'everything', args: [script] };
/** A tool of it that needs no arguments. */
export const everythingTool = 'mcp_everything__get-tiny-image';
