import type {
  CallToolResult,
  ClientCapabilities,
  InputRequiredResult,
  ServerContext,
  Tool,
} from '@modelcontextprotocol/server';

/** The facilities that a call of the fixture may use. */
export interface FixtureCall {
  args: Record<string, unknown>;
  context: ServerContext;
  capabilities: ClientCapabilities;
  /** Changes the list of tools, and announces the change. */
  changeTools(): void;
  changePrompts(): void;
  changeResource(uri: string): void;
}

/** One tool of the fixture: how it is listed, and what it does. */
export interface FixtureTool {
  definition: Tool;
  run(call: FixtureCall): Promise<FixtureResult> | FixtureResult;
}

export type FixtureResult = CallToolResult | InputRequiredResult;

/** A tool that takes nothing, unless `more` says otherwise. */
export function fixtureTool(
  name: string,
  description: string,
  run: FixtureTool['run'],
  more: Partial<Tool> = {},
): FixtureTool {
  return { definition: { name, description, inputSchema: { type: 'object' }, ...more }, run };
}
