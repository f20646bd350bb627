import type { MailboxToolName, Tool } from '@signalbox/protocol';
import type { FaceAnswer, FaceCall } from '../tools/face-tools.ts';
import type { ToolResult } from '../tools/tool-result.ts';
import { type Fields, readArguments, type Values } from './arguments.ts';
import { failure, failureOf, failureResult } from './failure.ts';

/** One of the tools that an agent has for its mailbox. */
export interface MailboxTool {
  readonly definition: Tool & { name: MailboxToolName };
  /** Never rejects: what goes wrong is a result with `isError`. */
  run(call: FaceCall): Promise<FaceAnswer>;
}

interface ToolParts<F extends Fields, R extends keyof F & string> {
  name: MailboxToolName;
  title: string;
  /** For a model: what it does, when to use it, what comes back. */
  description: string;
  fields: F;
  required?: readonly R[];
  /** Of `structuredContent`; left out where that is another tool's own. */
  outputSchema?: Tool['outputSchema'];
  annotations: Annotations;
  /** May throw a `SignalboxError`, which becomes a failure with its code. */
  run(values: Values<F, R>, call: FaceCall): Promise<ToolResult>;
}

/** MCP's hints, all of them said. */
interface Annotations {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** Changes nothing. */
export const reading: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** Makes something new each time, and takes nothing away. */
export const writing: Annotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
};

export function mailboxTool<const F extends Fields, const R extends keyof F & string = never>(
  parts: ToolParts<F, R>,
): MailboxTool {
  const { name, title, description, fields, required = [], outputSchema, annotations } = parts;
  const definition = {
    name,
    title,
    description,
    inputSchema: {
      type: 'object' as const,
      properties: fields,
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    },
    ...(outputSchema && { outputSchema }),
    annotations: { ...annotations },
  };
  const run = async (call: FaceCall): Promise<ToolResult> => {
    const { value, problem } = readArguments(fields, required, call.arguments);
    if (problem !== undefined) {
      return failureResult(failure('invalid_arguments', `${name}: ${problem}`), definition);
    }
    try {
      return await parts.run(value, call);
    } catch (thrown) {
      return failureResult(failureOf(thrown), definition);
    }
  };
  return {
    definition,
    run: async (call) => ({ result: await run(call), ...(outputSchema && { outputSchema }) }),
  };
}

/** A result for a model to read, with the same as data. */
export function answer(text: string, data: Record<string, unknown>): ToolResult {
  return { content: [{ type: 'text', text }], structuredContent: data };
}
