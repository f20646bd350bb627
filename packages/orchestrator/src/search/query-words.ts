import { wordsOf } from './words.ts';

const maxQueryWords = 16;

/** English words that say nothing about the purpose of a tool. */
const stopWords = new Set(
  [
    'a an the this that these those there here',
    'i me my mine we us our ours you your yours he him his she her it its they them their',
    'who whom whose which what when where why how',
    'is are was were be been being am do does did has have had',
    'can could will would shall should may might must please',
    'and or but not no nor if then than as so just some any all',
    'about at by for from in into of off on onto out over to up with',
  ].flatMap((line) => line.split(' ')),
);

/** Returns the words of a query without stop words, each once. A query of only stop words keeps all its words. */
export function queryWordsOf(query: string): string[] {
  const words = [...new Set(wordsOf(query))];
  const meaningful = words.filter((word) => !stopWords.has(word));
  return (meaningful.length > 0 ? meaningful : words).slice(0, maxQueryWords);
}
