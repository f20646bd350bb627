import type { Tool } from '@signalbox/protocol';
import MiniSearch from 'minisearch';
import { wordsOf } from './words.ts';

/** A tool that a search found. `score` ranks the tools of one answer and means nothing else. */
export interface FoundTool {
  tool: Tool;
  score: number;
}

/** Finds tools by words in their names, titles, descriptions and parameters. */
export interface ToolIndex {
  /** Best first; tools that score alike in the order of their names. */
  search(query: string, limit: number): FoundTool[];
}

/** What of a field is read: servers may write as much as they like. */
const maxFieldLength = 4000;
const maxParameterDepth = 4;
const maxQueryWords = 16;
const maxFuzzyLength = 24;

/** Ranks by BM25, with the name before the title, and both before descriptions and parameters. */
export function createToolIndex(tools: readonly Tool[]): ToolIndex {
  const index = new MiniSearch<{ id: number }>({
    fields: ['name', 'title', 'description', 'parameters'],
    tokenize: wordsOf,
    processTerm: (term) => term,
    searchOptions: {
      boost: { name: 3, title: 2 },
      prefix: (term) => term.length >= 3,
      fuzzy: ({ length }) => (length >= 5 && length <= maxFuzzyLength ? 0.2 : false),
    },
  });
  index.addAll(tools.map(documentOf));
  return {
    search(query, limit) {
      const words = wordsOf(query).slice(0, maxQueryWords).join(' ');
      return index
        .search(words)
        .map(({ id, score }) => ({ tool: tools[id as number]!, score: Math.round(score * 1000) / 1000 }))
        .sort((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
        .slice(0, limit);
    },
  };
}

function documentOf({ name, description, inputSchema, ...tool }: Tool, id: number) {
  const title = tool.title ?? tool.annotations?.title;
  const parameters = parameterTexts(inputSchema, maxParameterDepth).join(' ');
  const cut = (text: unknown) => (typeof text === 'string' ? text.slice(0, maxFieldLength) : '');
  return { id, name, title: cut(title), description: cut(description), parameters: cut(parameters) };
}

/** Names and descriptions of a schema's properties, those of nested objects and lists included. */
function parameterTexts(schema: unknown, depth: number): string[] {
  if (depth === 0 || !isObject(schema)) return [];
  const named = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  return [
    ...named.flatMap(([name, property]) => [
      name,
      ...(isObject(property) && typeof property.description === 'string' ? [property.description] : []),
      ...parameterTexts(property, depth - 1),
    ]),
    ...parameterTexts(schema.items, depth - 1),
  ];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object';
}
