import { defineConfig } from 'vitepress';
import { sidebarOf } from './sidebar.ts';

/** The documents of the repository as a site: static files, with a search that needs no server. */
export default defineConfig({
  title: 'Signalbox',
  description: 'Tools and mail for a team of AI agents',
  // Pages link to each other across the repository, as readers of a checkout follow the links.
  srcDir: '..',
  srcExclude: ['**/node_modules/**', '**/dist/**', 'test/**', 'bench/**', 'deploy/**', 'apps/dashboard/**'],
  // Scripts are read in the repository.
  ignoreDeadLinks: [/\.sh$/],
  rewrites: (id) => id.replace(/(^|\/)README\.md$/, '$1index.md'),
  markdown: {
    // The documents hold no HTML: what stands in angle brackets is to be shown.
    html: false,
    config: (md) => {
      // Braces of configurations are no templates.
      md.renderer.rules.code_inline = (tokens, i) =>
        `<code v-pre>${md.utils.escapeHtml(tokens[i]!.content)}</code>`;
    },
  },
  themeConfig: {
    nav: [
      { text: 'Five minutes', link: '/docs/guide/five-minutes' },
      { text: 'Documents', link: '/docs/' },
      { text: 'Changes', link: '/CHANGELOG' },
    ],
    outline: { level: [2, 3] },
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          searchOptions: {
            combineWith: 'AND',
            // A question of a user is answered by a guide rather than by a list of changes or a decision.
            boostDocument: (id: string) =>
              id.includes('/guide/')
                ? 3
                : id.includes('/reference/')
                  ? 2
                  : /CHANGELOG|\/adr\//.test(id)
                    ? 0.3
                    : 1,
          },
        },
      },
    },
    sidebar: sidebarOf(new URL('../README.md', import.meta.url), 'docs'),
  },
});
