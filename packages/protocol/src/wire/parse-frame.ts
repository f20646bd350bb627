import { z } from 'zod';
import { type BrokerFrame, brokerFrameSchemas } from './broker-frames.ts';
import { type ClientFrame, clientFrameSchemas } from './client-frames.ts';
import type { ErrorCode } from './error-codes.ts';
import { frameLimits } from './frame-limits.ts';
import { isJsonObject } from './parse-json.ts';

/**
 * The reason why a header line was refused. `id` and `request_id` are copied from the line, so that the client can tell which frame was
 * refused.
 */
export interface FrameRefusal {
  code: ErrorCode;
  message: string;
  field?: string;
  id?: string;
  request_id?: string;
}

/** A frame that was read, or the reason why it was refused. */
export type ParsedFrame<F> = { frame: F; refusal?: undefined } | { frame?: undefined; refusal: FrameRefusal };

const clientSchemaFor = schemasByType<ClientFrame>(clientFrameSchemas);
const brokerSchemaFor = schemasByType<BrokerFrame>(brokerFrameSchemas);

/** Reads one header line sent by a client. Unknown fields are dropped; a refusal names the field and the rule. */
export function parseClientFrame(header: string): ParsedFrame<ClientFrame> {
  if (header.length > frameLimits.headerLength) {
    const message = `the header line is ${header.length} characters long; at most ${frameLimits.headerLength} are read`;
    return { refusal: { code: 'bad_frame', message } };
  }
  const object = readObject(header);
  if (typeof object === 'string') return { refusal: { code: 'bad_frame', message: object } };
  const schema = clientSchemaFor(object.type);
  if (schema === undefined) return { refusal: unknownFrame(object) };
  const parsed = schema.safeParse(object);
  return parsed.success ? { frame: parsed.data } : { refusal: badFrame(object, parsed.error) };
}

/** Reads one header line sent by the broker. Returns `undefined` for a frame that this version does not know. */
export function parseBrokerFrame(header: string): BrokerFrame | undefined {
  const object = readObject(header);
  return typeof object === 'string' ? undefined : brokerSchemaFor(object.type)?.safeParse(object).data;
}

/** Compiling a schema takes as long as reading hundreds of frames by it: a process that reads few, like a command, is quicker without. */
const framesBeforeCompiling = 32;

/**
 * Returns a function that finds the schema of a frame by its `type`. A schema is compiled when many frames of its type have arrived. A
 * compiled schema gives the same results several times faster (ADR 10).
 */
function schemasByType<F>(
  schemas: Readonly<Record<string, z.ZodType<F>>>,
): (type: unknown) => z.ZodType<F> | undefined {
  const compiled = new Map<unknown, z.ZodType<F>>();
  const seen = new Map<string, number>();
  return (type) => {
    const known = compiled.get(type);
    if (known !== undefined || typeof type !== 'string' || !Object.hasOwn(schemas, type)) return known;
    const count = (seen.get(type) ?? 0) + 1;
    seen.set(type, count);
    if (count <= framesBeforeCompiling) return schemas[type];
    const schema = z.compile(schemas[type]!);
    compiled.set(type, schema);
    return schema;
  };
}

/** Parses a header line. Returns its object, or the reason why it is none. */
function readObject(header: string): Record<string, unknown> | string {
  let value: unknown;
  try {
    value = JSON.parse(header);
  } catch {
    return 'the header line is not JSON; send one JSON object per line';
  }
  return isJsonObject(value) ? value : 'the header line must be a JSON object';
}

function unknownFrame(object: Record<string, unknown>): FrameRefusal {
  const known = Object.keys(clientFrameSchemas).join(', ');
  const message =
    typeof object.type === 'string'
      ? `unknown frame type '${object.type.slice(0, 40)}'; known types: ${known}`
      : `the field 'type' must be one of: ${known}`;
  return { code: 'unknown_frame', message, field: 'type', ...idsOf(object) };
}

function badFrame(object: Record<string, unknown>, error: z.ZodError): FrameRefusal {
  const issue = error.issues[0]!;
  const field = issue.path.join('.') || 'frame';
  return { code: 'bad_frame', message: `field '${field}': ${issue.message}`, field, ...idsOf(object) };
}

function idsOf(object: Record<string, unknown>): { id?: string; request_id?: string } {
  return {
    ...(typeof object.id === 'string' && { id: object.id.slice(0, 64) }),
    ...(typeof object.request_id === 'string' && { request_id: object.request_id.slice(0, 64) }),
  };
}
