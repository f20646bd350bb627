import type { z } from 'zod';
import { type BrokerFrame, brokerFrameSchema } from './broker-frames.ts';
import { type ClientFrame, clientFrameSchemas } from './client-frames.ts';
import type { ErrorCode } from './error-codes.ts';
import { maxHeaderLength } from './frame-text.ts';
import { plainBrokerFrame, plainClientFrame } from './plain-frames.ts';

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
  const object = readObject(header, maxHeaderLength);
  if (typeof object === 'string') return { refusal: { code: 'bad_frame', message: object } };
  const plain = plainClientFrame(object);
  return plain === undefined ? judgeClientFrame(object) : { frame: plain };
}

/** Reads one header line sent by the broker; `undefined` for a frame this version does not know. */
export function parseBrokerFrame(header: string): BrokerFrame | undefined {
  const object = readObject(header, Number.POSITIVE_INFINITY);
  if (typeof object === 'string') return undefined;
  return plainBrokerFrame(object) ?? brokerFrameSchema.safeParse(object).data;
}

/** The object, or why there is none. */
function readObject(header: string, maxLength: number): Record<string, unknown> | string {
  if (header.length > maxLength) {
    return `the header line is ${header.length} characters long; at most ${maxLength} are read`;
  }
  let value: unknown;
  try {
    value = JSON.parse(header);
  } catch {
    return 'the header line is not JSON; send one JSON object per line';
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : 'the header line must be a JSON object';
}

function judgeClientFrame(object: Record<string, unknown>): ParsedFrame<ClientFrame> {
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
