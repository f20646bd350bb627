import { z } from 'zod';

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

/** Accepts the level of a log message of an MCP server. */
export const mcpLogLevelSchema = z.enum(levels);

/** The level of a log message of an MCP server; `debug` is the least important one. */
export type McpLogLevel = z.infer<typeof mcpLogLevelSchema>;

/** Accepts a log message of an MCP server, as in `notifications/message`. */
export const mcpLogMessageSchema = z.object({
  level: mcpLogLevelSchema,
  logger: z.string().optional(),
  data: z.unknown().optional(),
});
/** A log message of an MCP server. */
export type McpLogMessage = z.infer<typeof mcpLogMessageSchema>;

/** Returns true if a level is as important as `least`, or more. */
export function isAtLeast(level: McpLogLevel, least: McpLogLevel): boolean {
  return levels.indexOf(level) >= levels.indexOf(least);
}
