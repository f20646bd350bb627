import type { AnyMessage } from '@agentclientprotocol/sdk';
import { z } from 'zod';
import { type ToolUpdate, toolUpdateSchema } from './tool-facts.ts';

/** The longest line that an agent may send, in bytes. A longer one ends the connection. */
const maxLineBytes = 16 * 1024 * 1024;

/** A request of an agent for a permission. */
export interface PermissionRequest {
  toolCallId: string;
  options: readonly { optionId: string; kind: string }[];
}

export type PermissionOutcome = { outcome: 'selected'; optionId: string } | { outcome: 'cancelled' };

/** The handlers of everything that an agent sends by itself. None of them throws. */
export interface AcpHandlers {
  /** Called with each update of a session, in their order, and before the answer that ends a turn arrives. */
  onUpdate: (update: SessionUpdate) => void;
  /** Called with the tool call of each request for a permission, in the same order. */
  onAsked: (toolCall: ToolUpdate) => void;
  /** Decides on a request for a permission. `signal` is aborted when the agent withdraws it. */
  onPermission: (request: PermissionRequest, signal: AbortSignal) => Promise<PermissionOutcome>;
}

/** A connection to an agent. */
export interface AcpConnection {
  /** Sends a request, and accepts its answer. Rejects with the agent's error, or if the connection ends. */
  request<T>(method: string, params: object, schema: z.ZodType<T>): Promise<T>;
  notify(method: string, params: object): Promise<void>;
  /** True if the agent ended the connection. */
  readonly isCutOff: boolean;
  close(): void;
}

const permissionMethod = 'session/request_permission';

const chunkSchema = z.object({
  content: z.object({ type: z.literal('text'), text: z.string() }),
  messageId: z.string().nullish().catch(undefined),
});
const updateSchema = z.object({
  method: z.literal('session/update'),
  params: z.object({
    update: z.union([
      chunkSchema.extend({ sessionUpdate: z.literal('agent_message_chunk') }),
      toolUpdateSchema.extend({ sessionUpdate: z.enum(['tool_call', 'tool_call_update']) }),
      z.object({ sessionUpdate: z.literal('current_mode_update'), currentModeId: z.string() }),
    ]),
  }),
});
/** The updates of a session that mean something to a turn. */
export type SessionUpdate = z.infer<typeof updateSchema>['params']['update'];

const permissionSchema = z.object({
  toolCall: toolUpdateSchema,
  options: z.array(z.object({ optionId: z.string(), kind: z.string() })),
  _meta: z.record(z.string(), z.unknown()).nullish().catch(undefined),
});

const askedSchema = z.object({ method: z.literal(permissionMethod), params: permissionSchema });

/**
 * Takes the updates out of the messages of an agent, and reads the tool calls of its requests, in the order in which they come: the SDK
 * handles messages side by side.
 */
function inOrder({ onUpdate, onAsked }: AcpHandlers): TransformStream<AnyMessage, AnyMessage> {
  return new TransformStream({
    transform(message, controller) {
      const update = updateSchema.safeParse(message).data;
      if (update) onUpdate(update.params.update);
      const asked = askedSchema.safeParse(message).data?.params;
      if (asked) onAsked({ ...asked.toolCall, _meta: { ...asked.toolCall._meta, ...asked._meta } });
      // Those of other kinds or forms are passed over.
      if (!('method' in message) || message.method !== 'session/update') controller.enqueue(message);
    },
  });
}

/** Returns true for an error with which the agent answered; the connection stays. */
export function isAnswer(thrown: unknown): thrown is Error & { code: number } {
  return thrown instanceof Error && typeof (thrown as { code?: unknown }).code === 'number';
}

/** Opens a connection over the streams of an agent's process. The SDK is loaded by the first. */
export async function openAcpConnection(
  { input, output }: { input: WritableStream<Uint8Array>; output: ReadableStream<Uint8Array> },
  handlers: AcpHandlers,
): Promise<AcpConnection> {
  const { client, MessageTooLargeError, ndJsonStream } = await import('@agentclientprotocol/sdk');
  const { readable, writable } = ndJsonStream(input, output, { maxMessageBytes: maxLineBytes });
  const connection = client({ name: 'signalbox' })
    .onRequest<z.infer<typeof permissionSchema>, { outcome: PermissionOutcome }>(
      permissionMethod,
      permissionSchema,
      async ({ params: { toolCall, options }, signal }) => {
        const { toolCallId } = toolCall;
        return { outcome: await handlers.onPermission({ toolCallId, options }, signal) };
      },
    )
    .connect({ readable: readable.pipeThrough(inOrder(handlers)), writable });
  let isCutOff = false;
  return {
    get isCutOff() {
      return isCutOff;
    },
    async request(method, params, schema) {
      let answer: unknown;
      try {
        answer = await connection.agent.request(method, params);
      } catch (thrown) {
        if (!isAnswer(thrown) && !(thrown instanceof MessageTooLargeError)) isCutOff = true;
        throw thrown;
      }
      return schema.parse(answer);
    },
    notify: (method, params) => connection.agent.notify(method, params),
    close: () => connection.close(),
  };
}
