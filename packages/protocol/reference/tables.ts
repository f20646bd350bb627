import { isDeepStrictEqual } from 'node:util';
import { figure } from '../src/figure.ts';
import { toolErrorCodes } from '../src/mcp/tool-error-codes.ts';
import { operationPermissions, type Permission, permissions } from '../src/permissions.ts';
import { adminOperations } from '../src/wire/admin/operations.ts';
import { tailNoticeSchemas } from '../src/wire/admin/tail.ts';
import { auditCodes } from '../src/wire/audit-codes.ts';
import { bodyLimits } from '../src/wire/body-limits.ts';
import { brokerFrameSchemas } from '../src/wire/broker-frames.ts';
import { clientFrameSchemas } from '../src/wire/client-frames.ts';
import { closeCodes } from '../src/wire/close-codes.ts';
import { errorCodes } from '../src/wire/error-codes.ts';
import { frameCosts, furtherCosts } from '../src/wire/frame-costs.ts';
import { frameLimits } from '../src/wire/frame-limits.ts';
import { laneFrameSchemas } from '../src/wire/lane-frames.ts';
import { type LimitEntry, limitTable } from '../src/wire/limits.ts';
import { type OrchestratorMetric, orchestratorMetrics } from '../src/wire/orchestrator-figures.ts';
import { definitionName, protocolJsonSchema, type SchemaNode } from './json-schema.ts';

const { $defs: definitions } = protocolJsonSchema();

/** The names of the definitions that frames refer to. */
const frameObjects = new Set(
  [
    ...Object.keys(clientFrameSchemas).map((type) => definitionName('Client', type)),
    ...Object.keys(brokerFrameSchemas).map((type) => definitionName('Broker', type)),
    ...Object.keys(laneFrameSchemas).map((type) => definitionName('Lane', type)),
  ].flatMap(referencesOf),
);

/** The fields of a pushed message, which stand in another object as well. */
const messageFields = Object.entries(definitions[definitionName('Broker', 'message')]!.properties!).filter(
  ([name]) => name !== 'type',
);

/** Renders the generated parts of the page of the protocol as Markdown, by the names of their markers. */
export function protocolTables(): Record<string, string> {
  return {
    values: table(
      ['value', 'form', 'meaning'],
      Object.values(definitions)
        .filter(({ title, type }) => title !== undefined && type !== 'object')
        .map((node) => [node.title!, formOf(node).replaceAll('|', '\\|'), node.description ?? '']),
    ),
    'client-frames': frames('Client', Object.keys(clientFrameSchemas)),
    'broker-frames': frames('Broker', Object.keys(brokerFrameSchemas)),
    'lane-frames': frames('Lane', Object.keys(laneFrameSchemas)),
    objects: objects((name) => frameObjects.has(name)),
    operations: Object.keys(adminOperations()).map(operation).join('\n\n'),
    permissions: permissionTable(),
    'audit-codes': auditCodeLists(),
    'orchestrator-metrics': Object.entries<OrchestratorMetric>(orchestratorMetrics)
      .map(([key, { name, type, labels, buckets = [] }]) => {
        const by = labels.length > 0 ? ` by ${labels.join(', ')}` : '';
        const bounds = buckets.length > 0 ? `, with the bounds ${buckets.join(', ')}` : '';
        return `- \`${key}\`: \`${name}\`, a ${type}${by}${bounds}`;
      })
      .join('\n'),
    notices: Object.keys(tailNoticeSchemas())
      .map((what) => {
        const {
          properties = {},
          required = [],
          description = '',
        } = definitions[definitionName('TailNotice', what)]!;
        const { what: _, at: __, ...further } = properties;
        return `- \`${what}\` (\`${namesOf({ properties: further, required })}\`): ${description}`;
      })
      .join('\n'),
    'admin-objects': objects((name) => !frameObjects.has(name)),
    'error-codes': Object.entries(errorCodes)
      .map(([code, entry]) => {
        const closes = 'closes' in entry ? [`closes with ${entry.closes}`] : [];
        const facts = [...(entry.retryable ? ['retryable'] : []), ...closes];
        return `- \`${code}\`${facts.length > 0 ? ` (${facts.join(', ')})` : ''}: ${entry.meaning}`;
      })
      .join('\n'),
    'close-codes': Object.entries(closeCodes)
      .map(([code, { name, reconnect }]) => `- ${code} \`${name}\`${reconnect ? ': reconnect' : ''}`)
      .join('\n'),
    'tool-error-codes': Object.entries(toolErrorCodes)
      .map(
        ([code, { category, retryable, meaning }]) =>
          `- \`${code}\` (${category}${retryable ? ', retryable' : ''}): ${meaning}`,
      )
      .join('\n'),
    'frame-costs': table(
      ['frame', 'cost'],
      [
        ...[...Map.groupBy(Object.entries(frameCosts), ([, cost]) => cost)].map(([cost, frames]) => [
          frames.map(([type]) => `\`${type}\``).join(', '),
          figure(cost),
        ]),
        ['a WebSocket message, besides its frames, and a ping', figure(furtherCosts.webSocketMessage)],
        ['a token that is issued or revoked, besides', figure(furtherCosts.tokenChange)],
        ['a refusal of any frame, besides', figure(furtherCosts.refused)],
        ['100 sequence numbers of an `ack`, `nack` or `working`, besides', figure(100 * furtherCosts.seq)],
        [
          '10 connections of the broker, for a `list_connected`, besides',
          figure(10 * furtherCosts.connection),
        ],
        ['an agent that `waiting` may look at, besides', figure(furtherCosts.waitingAgent)],
        ['4 KiB of bodies that a `peek` returns, besides', figure(4096 * furtherCosts.peekedByte)],
      ],
    ),
    limits: `${limitList()}

A header line has at most ${figure(frameLimits.headerLength)} characters. Readers of bodies accept JSON of at most
${figure(bodyLimits.maxLength)} characters, with at most ${bodyLimits.maxDepth} arrays and objects inside each other and at most ${figure(bodyLimits.maxNodes)}
values and names. Where \`message.bytes\` of the welcome is more than its default, they accept so many bytes, and more
values and names in the same proportion. Orchestrators accept requests up to the default.`,
  };
}

/** Replaces the text between the lines `<!-- name -->` and `<!-- /name -->` of a page. Throws if one of them is missing. */
export function withTables(page: string, tables: Record<string, string>): string {
  let text = page;
  for (const [name, content] of Object.entries(tables)) {
    const [open, close] = [`\n<!-- ${name} -->\n`, `\n<!-- /${name} -->\n`];
    const [from, to] = [text.indexOf(open), text.indexOf(close)];
    if (from < 0 || to < from) throw new Error(`the page has no place for '${name}'`);
    text = `${text.slice(0, from + open.length)}\n${content}\n${text.slice(to)}`;
  }
  return text;
}

/** Renders the objects that have a title, and a name for which `isWanted`. */
function objects(isWanted: (name: string) => boolean): string {
  return Object.entries(definitions)
    .filter(([name, { title, type }]) => title !== undefined && type === 'object' && isWanted(name))
    .map(([, node]) => section(node.title!, node))
    .join('\n\n');
}

/** Returns the names of the definitions that a definition refers to, also through others. */
function referencesOf(name: string): string[] {
  const found = JSON.stringify(definitions[name]).matchAll(/"#\/\$defs\/(\w+)"/g);
  return [...found].flatMap(([, other]) => [other!, ...referencesOf(other!)]);
}

/** Lists the limits of each group, with what differs for some roles. */
function limitList(): string {
  return Object.entries<Record<string, LimitEntry>>(limitTable)
    .map(([group, entries]) => {
      const limits = Object.entries(entries).map(([name, limit]) => {
        const differs = [
          ...(limit.perRole === true ? ['by role'] : []),
          ...(limit.privileged === undefined ? [] : [`privileged ${figure(limit.privileged)}`]),
          ...(limit.host === undefined ? [] : [`host ${figure(limit.host)}`]),
        ];
        return `\`${name}\` ${figure(limit.default)}${differs.length > 0 ? ` (${differs.join(', ')})` : ''}`;
      });
      return `- \`${group}\`: ${limits.join(', ')}`;
    })
    .join('\n');
}

function auditCodeLists(): string {
  const codes = Object.entries(auditCodes).filter(([code]) => !(code in errorCodes));
  return [...Map.groupBy(codes, ([, { kind }]) => kind)]
    .map(([kind, ofKind]) => {
      const lines = ofKind.map(
        ([code, { merged, meaning }]) => `- \`${code}\`${merged === true ? ' (counted)' : ''}: ${meaning}`,
      );
      return `Of the kind \`${kind}\`:\n\n${lines.join('\n')}`;
    })
    .join('\n\n');
}

function permissionTable(): string {
  const askedOf = {
    admin: 'operations of `admin`',
    request: 'an `op` of an `mcp_request`',
    frame: 'frames about others',
    http: 'HTTP',
  };
  const rows = Object.entries(operationPermissions).flatMap(([asked, operations]) => {
    const allowed = new Map<string, string[]>();
    for (const [op, needs] of Object.entries<readonly Permission[]>(operations)) {
      const who = needs.map((name) => `\`${name}\``).join(', ');
      allowed.set(who, [...(allowed.get(who) ?? []), asked === 'http' ? `\`GET /${op}\`` : `\`${op}\``]);
    }
    return [...allowed].map(([who, ops]) => [askedOf[asked as keyof typeof askedOf], who, ops.join(', ')]);
  });
  const meanings = Object.entries(permissions).map(([name, meaning]) => [`\`${name}\``, meaning]);
  return `${table(['permission', 'meaning'], meanings)}\n\n${table(['what', 'who may', 'names'], rows)}`;
}

function operation(op: string): string {
  const name = definitionName('Admin', op);
  const [params, result] = [definitions[`${name}Params`]!, definitions[`${name}Result`]!];
  return [
    `### \`${op}\``,
    params.description!,
    ...withLead('Parameters:', fieldList(params)),
    ...withLead('Result:', fieldList(result)),
  ].join('\n\n');
}

function frames(side: 'Client' | 'Broker' | 'Lane', types: string[]): string {
  return types.map((type) => section(`\`${type}\``, definitions[definitionName(side, type)]!)).join('\n\n');
}

function section(heading: string, node: SchemaNode): string {
  return [`### ${heading}`, node.description ?? '', fieldList(node)]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** Lists the fields of an object, those that are described alike in one line. */
function fieldList({ properties = {}, required = [] }: SchemaNode): string {
  const isMessage =
    !('type' in properties) &&
    messageFields.every(([name, node]) => isDeepStrictEqual(properties[name], node));
  const known = new Set(['type', ...(isMessage ? messageFields.map(([name]) => name) : [])]);
  const names = new Map<string, string[]>();
  for (const [name, node] of Object.entries(properties)) {
    if (known.has(name)) continue;
    const meaning = [formOf(node), node.description ?? ''].filter((part) => part !== '').join('. ');
    const alike = names.get(meaning) ?? [];
    names.set(meaning, [...alike, `\`${name}${required.includes(name) ? '' : '?'}\``]);
  }
  const lines = [...names].map(([meaning, alike]) => `- ${alike.join(', ')}: ${meaning}`);
  return [...(isMessage ? ['- the fields of `message`'] : []), ...lines].join('\n');
}

function withLead(lead: string, list: string): string[] {
  return list === '' ? [] : [lead, list];
}

/** Describes the values that a schema accepts, in a few words. */
function formOf(node: SchemaNode & { pattern?: string }): string {
  if (node.$ref !== undefined) return definitions[node.$ref.slice('#/$defs/'.length)]?.title ?? '';
  if (node.not !== undefined) return 'absent';
  if (node.anyOf !== undefined) return node.anyOf.map(formOf).join(' or ');
  if (node.pattern !== undefined) return `\`${node.pattern}\``;
  if (Array.isArray(node.type)) return node.type.join(' or ');
  switch (node.type) {
    case 'string':
      return `text${range(node.minLength, node.maxLength, ' characters')}`;
    case 'integer':
      return `integer${range(leastOf(node), node.maximum, '')}`;
    case 'array':
      return `list of ${plural(formOf(node.items ?? {}))}${range(node.minItems, node.maxItems, ' items')}`;
    case 'object':
      return node.properties ? `\`{${namesOf(node)}}\`` : 'object';
    case undefined:
      return 'any JSON';
    default:
      return node.type;
  }
}

/** Leaves a list of fields such as `{seq, code}` as it is. */
function plural(form: string): string {
  return form.startsWith('`') ? form : `${form.replaceAll(' or ', 's or ')}s`;
}

function leastOf({ minimum, exclusiveMinimum }: SchemaNode): number | undefined {
  return exclusiveMinimum === undefined ? minimum : exclusiveMinimum + 1;
}

/** Leaves out the bounds of safe integers, which every number has. */
function range(least: number | undefined, most: number | undefined, unit: string): string {
  const from = least === undefined || least === Number.MIN_SAFE_INTEGER ? undefined : figure(least);
  const to = most === undefined || most === Number.MAX_SAFE_INTEGER ? undefined : figure(most);
  if (from !== undefined && to !== undefined) return `, ${from} to ${to}${unit}`;
  if (from !== undefined) return `, at least ${from}${unit}`;
  return to === undefined ? '' : `, at most ${to}${unit}`;
}

function namesOf({ properties = {}, required = [] }: SchemaNode): string {
  return Object.keys(properties)
    .map((name) => (required.includes(name) ? name : `${name}?`))
    .join(', ');
}

function table(headings: string[], rows: string[][]): string {
  const line = (cells: string[]): string => `| ${cells.join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}
