import type { Document } from 'yaml';
import type { LocatedProblem } from '../document/check-document.ts';

const ofSse =
  "the transport 'sse', which MCP has replaced, is not served; write type: http with the server's Streamable HTTP address, often " +
  '/mcp in place of /sse, or bridge it: command: npx, args: [-y, mcp-remote, URL]';

/** Replaces the message of a problem by advice if the problem is that an entry asks for MCP's older HTTP transport. */
export function withSseExplained(problem: LocatedProblem, document: Document): LocatedProblem {
  const isTransport = ['type', 'transport_type'].includes(String(problem.at.at(-1)));
  return isTransport && document.getIn(problem.at) === 'sse' ? { ...problem, message: ofSse } : problem;
}
