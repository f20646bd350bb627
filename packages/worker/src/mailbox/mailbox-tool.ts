import type { MailboxToolName, Tool } from '@signalbox/protocol';
import type { FaceAnswer, FaceCall } from '../tools/face-tools.ts';
import type { ToolResult } from '../tools/tool-result.ts';
import { type Fields, readArguments, type Values } from './arguments.ts';
import { failure, failureOf, failureResult } from './failure.ts';

/** One of the tools that an agent has for its mailbox. */
export interface MailboxTool {
  readonly definition: Tool & { name: MailboxToolName };
  /** Runs the tool. Never rejects: a failure is a result with `isError`. */
  run(call: FaceCall): Promise<FaceAnswer>;
}

interface MailboxToolOptions<F extends Fields, R extends keyof F & string> {
  name: MailboxToolName;
  title: string;
  /** A text for a model: the purpose of the tool, when to use it, and its result. */
  description: string;
  fields: F;
  required?: readonly R[];
  /** The schema of `structuredContent`; left out if the tool returns results of other tools. */
  outputSchema?: Tool['outputSchema'];
  annotations: Annotations;
  /** Runs the tool with checked arguments. A `SignalboxError` that it throws becomes a failure with that code. */
  run(values: Values<F, R>, call: FaceCall): Promise<ToolResult>;
}

/** All of MCP's hints about a tool. */
interface Annotations {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** The hints of a tool that changes nothing. */
export const readOnly: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** The hints of a tool that adds something at each call and removes nothing. */
export const additive: Annotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
};

/** The hints of a tool that changes something, and nothing more when it is called again with the same arguments. */
export const idempotent: Annotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** Makes a mailbox tool, which checks its arguments and turns errors into results. */
export function mailboxTool<const F extends Fields, const R extends keyof F & string = never>(
  options: MailboxToolOptions<F, R>,
): MailboxTool {
  const { name, title, description, fields, required = [], outputSchema, annotations } = options;
  const definition = {
    name,
    title,
    description,
    inputSchema: {
      type: 'object' as const,
      properties: fields,
      ...(required.length > 0 && { required: [...required] }),
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
      return await options.run(value, call);
    } catch (thrown) {
      return failureResult(failureOf(thrown), definition);
    }
  };
  return {
    definition,
    run: async (call) => ({ result: await run(call), ...(outputSchema && { outputSchema }) }),
  };
}

/** Makes a result of text for a model, with the same content as data. */
export function answer(text: string, data: Record<string, unknown>): ToolResult {
  return { content: [{ type: 'text', text }], structuredContent: data };
}
