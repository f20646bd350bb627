import type { z } from 'zod';
import { type BrokerFrame, brokerFrameSchema } from './broker-frames.ts';
import { type ClientFrame, clientFrameSchemas } from './client-frames.ts';
import type { ErrorCode } from './error-codes.ts';
import { maxHeaderLength } from './frame-text.ts';
import { isPlainBrokerFrame, isPlainClientFrame } from './plain-frames.ts';

/** Why a header line was refused, with what could still be read of it so that the answer can be matched. */
export interface FrameRefusal {
  code: ErrorCode;
  message: string;
  field?: string;
  id?: string;
  request_id?: string;
}

export type ParsedFrame<F> = { frame: F; refusal?: undefined } | { frame?: undefined; refusal: FrameRefusal };

/** Reads one header line sent by a client. Unknown fields are dropped; a refusal names the field and the rule. */
export function parseClientFrame(header: string): ParsedFrame<ClientFrame> {
  const read = readObject(header);
  if ('refusal' in read) return read;
  const { object } = read;
  if (isPlainClientFrame(object)) return { frame: withoutMark(object) };
  const schema = ownSchema(object.type);
  if (!schema) {
    const known = Object.keys(clientFrameSchemas).join(', ');
    const message =
      typeof object.type === 'string'
        ? `unknown frame type '${object.type.slice(0, 40)}'; known types: ${known}`
        : `the field 'type' must be one of: ${known}`;
    return { refusal: { code: 'unknown_frame', message, field: 'type', ...handles(object) } };
  }
  const parsed = schema.safeParse(object);
  if (parsed.success) return { frame: parsed.data };
  return { refusal: { ...describeIssue(parsed.error), ...handles(object) } };
}

/** Reads one header line sent by the broker; `undefined` for a frame this version does not know. */
export function parseBrokerFrame(header: string): BrokerFrame | undefined {
  const read = readObject(header, Number.POSITIVE_INFINITY);
  if ('refusal' in read) return undefined;
  if (isPlainBrokerFrame(read.object)) return withoutMark(read.object);
  const parsed = brokerFrameSchema.safeParse(read.object);
  return parsed.success ? parsed.data : undefined;
}

/** The body itself is handed on beside the frame. Its mark is the last field, which costs nothing to take away. */
function withoutMark<T>(object: Record<string, unknown>): T {
  delete object.body;
  return object as T;
}

function readObject(
  header: string,
  maxLength = maxHeaderLength,
): { object: Record<string, unknown> } | { refusal: FrameRefusal } {
  if (header.length > maxLength) {
    return refuse(`the header line is ${header.length} characters long; at most ${maxLength} are read`);
  }
  let value: unknown;
  try {
    value = JSON.parse(header);
  } catch {
    return refuse('the header line is not JSON; send one JSON object per line');
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    return refuse('the header line must be a JSON object');
  }
  return { object: value as Record<string, unknown> };
}

function refuse(message: string): { refusal: FrameRefusal } {
  return { refusal: { code: 'bad_frame', message } };
}

function ownSchema(type: unknown): z.ZodType<ClientFrame> | undefined {
  return typeof type === 'string' && Object.hasOwn(clientFrameSchemas, type)
    ? clientFrameSchemas[type as ClientFrame['type']]
    : undefined;
}

function handles(object: Record<string, unknown>): { id?: string; request_id?: string } {
  return {
    ...(typeof object.id === 'string' && { id: object.id.slice(0, 64) }),
    ...(typeof object.request_id === 'string' && { request_id: object.request_id.slice(0, 64) }),
  };
}

function describeIssue(error: z.ZodError): FrameRefusal {
  const issue = error.issues[0]!;
  const field = issue.path.join('.') || 'frame';
  return { code: 'bad_frame', message: `field '${field}': ${issue.message}`, field };
}
