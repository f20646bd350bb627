import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import type { DefaultTheme } from 'vitepress';

/**
 * Reads the order of the pages from the list of documents, so that it stands once. Each heading becomes a group, and each numbered entry
 * a page that is named by its first link. `file` is a Markdown file; `folder` is its place from the root of the site.
 */
export function sidebarOf(file: URL, folder: string): DefaultTheme.SidebarItem[] {
  const [, ...sections] = readFileSync(file, 'utf8').split(/^## /m);
  return sections.map((section) => {
    const [text = ''] = section.split('\n');
    const links = section.matchAll(/^\d+\. \[([^\]]+)\]\(([^)]+\.md)\)/gm);
    const items = [...links].map(([, title = '', target = '']) => ({
      text: title.replaceAll('`', ''),
      link: `/${posix.join(folder, target).replace(/(README)?\.md$/, '')}`,
    }));
    return { text, items };
  });
}
