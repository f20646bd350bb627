import { z } from 'zod';
import {
  approvalsReplySchema,
  decideReplySchema,
  revokeStandingReplySchema,
  standingApprovalsReplySchema,
} from '../src/mcp/approval-replies.ts';
import { callStatusSchema, callsReplySchema } from '../src/mcp/call-status.ts';
import {
  explanationSchema,
  mcpContentExplanationSchema,
  searchReplySchema,
  subscriptionsReplySchema,
} from '../src/mcp/lookup-replies.ts';
import { mcpReplySchema } from '../src/mcp/mcp-reply.ts';
import { mcpRequestSchema } from '../src/mcp/mcp-request.ts';
import { discoveryReplySchema, serverReplySchema, serversReplySchema } from '../src/mcp/server-report.ts';
import { adminOperations } from '../src/wire/admin/operations.ts';
import { tailNoticeSchemas } from '../src/wire/admin/tail.ts';
import { auditEntrySchema } from '../src/wire/audit-codes.ts';
import { brokerFrameSchemas } from '../src/wire/broker-frames.ts';
import { clientFrameSchemas } from '../src/wire/client-frames.ts';
import { laneFrameSchemas } from '../src/wire/lane-frames.ts';
import { undeliverableSchema } from '../src/wire/undeliverable.ts';

/** A node of a JSON Schema document, with the keywords that the frames need. */
export interface SchemaNode {
  $ref?: string;
  $defs?: Record<string, SchemaNode>;
  title?: string;
  description?: string;
  type?: string | string[];
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

/** The frames of one side, those on lanes, the operations of `admin`, and the notices of `tail`. */
type DefinitionGroup = 'Client' | 'Broker' | 'Lane' | 'Admin' | 'TailNotice';

/** The bodies of messages that the protocol defines. The replies to single operations are in `data` of an `mcp_reply`. */
const bodySchemas: Record<string, z.ZodType> = {
  UndeliverableBody: undeliverableSchema,
  McpRequestBody: mcpRequestSchema,
  McpReplyBody: mcpReplySchema,
  StatusReply: callStatusSchema,
  CallsReply: callsReplySchema,
  ServersReply: serversReplySchema,
  ServerReply: serverReplySchema,
  DiscoverReply: discoveryReplySchema,
  ExplainReply: explanationSchema,
  McpContentExplanation: mcpContentExplanationSchema,
  SearchReply: searchReplySchema,
  SubscriptionsReply: subscriptionsReplySchema,
  ApprovalsReply: approvalsReplySchema,
  StandingApprovalsReply: standingApprovalsReplySchema,
  DecideReply: decideReplySchema,
  RevokeStandingReply: revokeStandingReplySchema,
  AuditEntry: auditEntrySchema,
};

/** Converts the schemas of all frames and bodies into one JSON Schema document, which describes a header line of either side. */
export function protocolJsonSchema(): SchemaNode & { $defs: Record<string, SchemaNode> } {
  const shared: Record<string, SchemaNode> = {};
  const client = schemasOf('Client', clientFrameSchemas, shared);
  const broker = schemasOf('Broker', brokerFrameSchemas, shared);
  const lane = schemasOf('Lane', laneFrameSchemas, shared);
  const admin = operations(shared);
  const notices = schemasOf('TailNotice', tailNoticeSchemas(), shared);
  const bodies = Object.fromEntries(
    Object.entries(bodySchemas).map(([name, schema]) => [name, definitionOf(schema, shared)]),
  );
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Signalbox protocol, version 1',
    description:
      'A header line of either side, without its `body` mark. `#/$defs/ClientFrame` and `#/$defs/BrokerFrame` are those of one side. Definitions that begin with `Lane` describe lines on lanes, those that begin with `Admin` describe `params` and `result` of the operations of `admin`, and `TailNotice` and those that end in `Body` or `Reply` describe bodies. `AuditEntry` describes the text in a row of the audit log.',
    anyOf: [reference('ClientFrame'), reference('BrokerFrame')],
    $defs: {
      ClientFrame: { anyOf: Object.keys(client).map(reference) },
      BrokerFrame: { anyOf: Object.keys(broker).map(reference) },
      ...shared,
      ...client,
      ...broker,
      ...lane,
      ...admin,
      ...notices,
      ...bodies,
    },
  } as SchemaNode & { $defs: Record<string, SchemaNode> };
}

/** Names a definition: the frame `list_connected` of a client is `ClientListConnected`. */
export function definitionName(group: DefinitionGroup, type: string): string {
  return group + type.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Converts the schemas of every operation of `admin`: `AdminDeadListParams` and `AdminDeadListResult`. */
function operations(shared: Record<string, SchemaNode>): Record<string, SchemaNode> {
  return Object.fromEntries(
    Object.entries(adminOperations()).flatMap(([op, { params, result, meaning }]) => {
      const name = definitionName('Admin', op);
      return [
        [`${name}Params`, { description: meaning, ...definitionOf(params, shared) }],
        [`${name}Result`, definitionOf(result, shared)],
      ];
    }),
  );
}

function schemasOf(
  group: DefinitionGroup,
  schemas: Record<string, z.ZodType>,
  shared: Record<string, SchemaNode>,
): Record<string, SchemaNode> {
  return Object.fromEntries(
    Object.entries(schemas).map(([type, schema]) => [
      definitionName(group, type),
      definitionOf(schema, shared),
    ]),
  );
}

/** Converts one schema. The definitions that it refers to are added to `shared`. */
function definitionOf(schema: z.ZodType, shared: Record<string, SchemaNode>): SchemaNode {
  const { $schema, $defs, ...definition } = z.toJSONSchema(schema, { io: 'input' });
  Object.assign(shared, $defs);
  return definition as SchemaNode;
}

function reference(name: string): SchemaNode {
  return { $ref: `#/$defs/${name}` };
}
