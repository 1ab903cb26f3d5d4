import { defineConfig, type MarkdownRenderer } from 'vitepress'

/** The pages of the menu, by the heading above them. */
const menu = {
  en: {
    'To begin': ['start', 'tour', 'recipes', 'glossary', 'architecture'],
    'Areas of the API': [
      ...['consents', 'validations', 'notifications', 'subscriptions'],
      ...['reports', 'erasure', 'audit', 'threats'],
    ],
    Operation: [
      'command-line',
      'alerts',
      'deploying',
      'deno',
      'running',
      'operating',
      'postgres',
      'scaling',
      'log',
      'machines',
      'versions',
      'speed',
      'comparison',
    ],
    'Contracts and tests': ['contracts', 'unspecified', 'answers', 'troubles', 'simulating', 'simulation', 'testing'],
  },
  'pt-BR': {
    'Para começar': ['start', 'tour', 'recipes', 'glossary'],
    'Áreas da API': ['consents', 'validations', 'notifications', 'subscriptions', 'erasure'],
    Operação: ['command-line', 'alerts', 'deploying', 'running', 'operating'],
    Testes: ['simulating', 'testing'],
  },
}

const titles: Readonly<Record<string, string>> = {
  'command-line': 'command line, console',
  log: 'tables',
}

/** The menu of the pages that reference.ts writes. The first page of an entry lists its exports: each has one. */
const reference = {
  text: 'Reference',
  items: [
    { text: 'where what is', link: '/reference' },
    ...['averba', 'averba/simulation', 'averba/verify'].map(text => ({ text, link: `/reference/${text}/` })),
    { text: 'error codes', link: '/reference/errors' },
    { text: 'options', link: '/reference/options' },
    { text: 'commands, exit codes', link: '/reference/commands' },
    { text: 'tables', link: '/log#tables' },
    { text: 'events', link: '/reference/averba/type-aliases/Events' },
    { text: 'views', link: '/reference/averba/interfaces/Views' },
  ],
}

/** Pages of the reference, and the file that has the same where it is not built: on GitHub and in the package. */
const written: Readonly<Record<string, string>> = {
  '../src/vocabulary/errors.ts': './reference/errors.md',
  '../src/api/options.ts': './reference/options.md',
  '../src/cli/program.ts': './reference/commands.md',
  '../src/index.ts': './reference/averba/index.md',
  '../src/simulation/index.ts': './reference/averba/simulation/index.md',
  '../src/verify.ts': './reference/averba/verify/index.md',
  '../src/views/views.ts': './reference/averba/interfaces/Views.md',
  '../src/api/events.ts': './reference/averba/type-aliases/Events.md',
}

function adapt(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('written', ({ tokens }) => {
    for (const token of tokens.flatMap(each => each.children ?? [])) {
      const page = token.type === 'link_open' && written[token.attrGet('href') ?? '']
      if (page) token.attrSet('href', page)
    }
  })
  // The only HTML that becomes some: TypeDoc names the rows of its tables.
  markdown.inline.ruler.push('named', (state, isSilent) => {
    const [anchor] = /^<a id="[\w-]+"><\/a>/.exec(state.src.slice(state.pos)) ?? []
    if (anchor === undefined) return false
    if (!isSilent) state.push('html_inline', '', 0).content = anchor
    state.pos += anchor.length
    return true
  })
}

function sidebar(language: keyof typeof menu) {
  const prefix = language === 'en' ? '/' : `/${language}/`
  const groups = Object.entries(menu[language]).map(([text, pages]) => ({
    text,
    items: pages.map(page => ({ text: titles[page] ?? page, link: `${prefix}${page}` })),
  }))
  // After the areas of the API.
  return groups.toSpliced(2, 0, language === 'en' ? reference : { ...reference, text: 'Referência, em inglês' })
}

// The pages are read on GitHub too: this only builds a site of them, with a search. Links within are checked.
export default defineConfig({
  title: 'averba',
  description: 'Consents, identity validations and customs webhooks of Brazilian services, in an append-only log',
  rewrites: {
    ...{ 'README.md': 'index.md', 'pt-BR/README.md': 'pt-BR/index.md' },
    ...{ 'openapi/README.md': 'openapi/index.md' },
  },
  srcExclude: ['decisions/**'],
  // Of the package, not of the site.
  ignoreDeadLinks: [
    /^(\.\/)?(\.\.\/)+(README|CONTRIBUTING|SECURITY|CHANGELOG|LICENSE|examples|test|src|bench)/,
    /decisions/,
    /^\.\/(\.\.\/)?deploy\//,
  ],
  markdown: { html: false, config: adapt },
  // The methods of an interface and the options of a group are headings of the third level.
  themeConfig: { search: { provider: 'local' }, outline: [2, 3] },
  locales: {
    root: { label: 'English', lang: 'en', themeConfig: { sidebar: sidebar('en') } },
    'pt-BR': { label: 'Português', lang: 'pt-BR', themeConfig: { sidebar: sidebar('pt-BR') } },
  },
})
