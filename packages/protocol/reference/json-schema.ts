import { z } from 'zod';
import { brokerFrameSchemas } from '../src/wire/broker-frames.ts';
import { clientFrameSchemas } from '../src/wire/client-frames.ts';

/** A node of a JSON Schema document, as far as the frames need it. */
export interface SchemaNode {
  $ref?: string;
  $defs?: Record<string, SchemaNode>;
  title?: string;
  description?: string;
  type?: string;
  const?: unknown;
  properties?: Record<string, SchemaNode>;
  required?: string[];
  items?: SchemaNode;
  anyOf?: SchemaNode[];
  not?: SchemaNode;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minItems?: number;
  maxItems?: number;
}

/** Converts the schemas of all frames into one JSON Schema document: a header line of either side, and each type of frame by name. */
export function protocolJsonSchema(): SchemaNode & { $defs: Record<string, SchemaNode> } {
  const shared: Record<string, SchemaNode> = {};
  const client = framesOf('Client', clientFrameSchemas, shared);
  const broker = framesOf('Broker', brokerFrameSchemas, shared);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Signalbox protocol, version 1',
    description:
      'A header line of either side, without its `body` mark. `#/$defs/ClientFrame` and `#/$defs/BrokerFrame` are those of one side.',
    anyOf: [reference('ClientFrame'), reference('BrokerFrame')],
    $defs: {
      ClientFrame: { anyOf: Object.keys(client).map(reference) },
      BrokerFrame: { anyOf: Object.keys(broker).map(reference) },
      ...shared,
      ...client,
      ...broker,
    },
  } as SchemaNode & { $defs: Record<string, SchemaNode> };
}

/** Names the definition of a frame: `list_connected` of a client is `ClientListConnected`. */
export function definitionName(side: 'Client' | 'Broker', type: string): string {
  return side + type.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function framesOf(
  side: 'Client' | 'Broker',
  schemas: Record<string, z.ZodType>,
  shared: Record<string, SchemaNode>,
): Record<string, SchemaNode> {
  const frames: Record<string, SchemaNode> = {};
  for (const [type, schema] of Object.entries(schemas)) {
    const { $schema, $defs, ...frame } = z.toJSONSchema(schema, { io: 'input' });
    Object.assign(shared, $defs);
    frames[definitionName(side, type)] = frame as SchemaNode;
  }
  return frames;
}

function reference(name: string): SchemaNode {
  return { $ref: `#/$defs/${name}` };
}
