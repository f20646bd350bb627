import type { Tool } from '@signalbox/protocol';
import { defaultHits, maxHits } from './search-arguments.ts';

/** The name of the tool that finds tools. */
export const searchToolName = 'search_tools';
/** The name of the tool that calls a found tool. */
export const callToolName = 'call_tool';

/** The two tools that stand for all others. They never change, so that a model's cached prompt stays good. */
export const searchDefinitions: readonly Tool[] = [
  {
    name: searchToolName,
    title: 'Find a tool',
    description:
      'Finds tools by what they do. Most of the tools you may use are not in your list: search here before you ' +
      'conclude that something cannot be done. Describe one action in plain words, with the thing it acts on and ' +
      'the service if you know it ("close a pull request", "restart a container"); search once for each action. ' +
      `Returns the best ${defaultHits} with their names, descriptions and input schemas, best first; run one with ` +
      `${callToolName}.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What the tool should do, in a few words.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: maxHits,
          default: defaultHits,
          description: 'How many tools to return at most.',
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: callToolName,
    title: 'Call a found tool',
    description:
      `Calls a tool that ${searchToolName} found and returns its own result. Give its exact name and the ` +
      'arguments that its input schema asks for.',
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: `The tool's name, exactly as ${searchToolName} gave it.` },
        arguments: { type: 'object', description: 'The arguments of that tool, by its own input schema.' },
      },
      required: ['name'],
      additionalProperties: false,
    },
  },
];
