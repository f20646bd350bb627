import type { Tool } from '@signalbox/protocol';
import MiniSearch from 'minisearch';
import { queryWordsOf } from './query-words.ts';
import { stemOf } from './stem.ts';
import { wordsOf } from './words.ts';

/** A tool that a search found. `score` only ranks the tools within one answer. */
export interface FoundTool {
  tool: Tool;
  score: number;
}

/** Finds tools by the words of their names, titles, descriptions and parameters. */
export interface ToolIndex {
  /** Finds up to `limit` tools, best first. Tools with the same score are ordered by name. */
  search(query: string, limit: number): FoundTool[];
}

/** The most characters of a field that are indexed; servers may send fields of any length. */
const maxFieldLength = 4000;
const maxParameterDepth = 4;
/** The number of tools that are indexed in one turn of the event loop. */
const chunkSize = 50;
const maxFuzzyLength = 24;

/** The weight of a word in each field. */
const boost = { name: 2, title: 2, description: 1, parameters: 0.5, parameterTexts: 0.2 };

/**
 * Indexes tools. A search ranks them by BM25 over word stems, times the share of the query's words that a tool has. A word that no tool has
 * also matches words that it begins, and words that differ by a typing error.
 */
export async function createToolIndex(tools: readonly Tool[]): Promise<ToolIndex> {
  const known = new Set<string>();
  const index = new MiniSearch<{ id: number }>({
    fields: Object.keys(boost),
    tokenize: wordsOf,
    processTerm(word) {
      const stem = stemOf(word);
      known.add(stem);
      return stem;
    },
    searchOptions: {
      boost,
      weights: { prefix: 0.6, fuzzy: 0.2 },
      processTerm: stemOf,
      prefix: (term) => term.length >= 3 && !known.has(term),
      fuzzy: (term) => (term.length >= 5 && term.length <= maxFuzzyLength && !known.has(term) ? 0.2 : false),
    },
  });
  // The tools are indexed in small parts: those of many servers take seconds, and calls must not wait for them.
  await index.addAllAsync(tools.map(documentOf), { chunkSize });
  return {
    search(query, limit) {
      const words = queryWordsOf(query);
      const stems = new Set(words.map(stemOf)).size;
      return index
        .search(words.join(' '))
        .map(({ id, score, queryTerms }) => ({
          tool: tools[id as number]!,
          score: Math.round((score * queryTerms.length * 1000) / stems) / 1000,
        }))
        .sort((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
        .slice(0, limit);
    },
  };
}

function documentOf({ name, description, inputSchema, ...tool }: Tool, id: number) {
  const title = tool.title ?? tool.annotations?.title;
  const parameters = parametersOf(inputSchema, maxParameterDepth);
  const cut = (text: unknown) => (typeof text === 'string' ? text.slice(0, maxFieldLength) : '');
  return {
    id,
    name,
    title: cut(title),
    description: cut(description),
    parameters: cut(parameters.map((parameter) => parameter.name).join(' ')),
    parameterTexts: cut(parameters.map(({ text }) => text).join(' ')),
  };
}

/** Returns the properties of a schema with their descriptions, including those of nested objects and lists. */
function parametersOf(schema: unknown, depth: number): { name: string; text: string }[] {
  if (depth === 0 || !isObject(schema)) return [];
  const named = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  return [
    ...named.flatMap(([name, property]) => [
      {
        name,
        text: isObject(property) && typeof property.description === 'string' ? property.description : '',
      },
      ...parametersOf(property, depth - 1),
    ]),
    ...parametersOf(schema.items, depth - 1),
  ];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object';
}
