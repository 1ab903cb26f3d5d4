import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type MarkdownRenderer } from 'vitepress'

const docs = join(import.meta.dirname, '..')

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

/** Folders with files to copy, which the site has beside its pages. */
const folders = ['deploy', 'prometheus', 'openapi']
const isFile = (href: string) => new RegExp(`^(\\.{1,2}/)*(${folders.join('|')})/(?!.*\\.md)`).test(href)

/** What the package has and the site has not: it is named, and not linked. */
const outside = /^((\.\.\/)+(CONTRIBUTING|SECURITY|CHANGELOG|LICENSE|examples|test|src|bench)\b|.*decisions(\/|$))/

/** The link to a page as the site has it. The README of the package is not there: the first page is. */
function siteLink(href: string, path: string): string {
  const depth = path.split('/').length - 1
  const inside = href.replace(/^(\.\.\/)+/, up => '../'.repeat(Math.min(depth, up.length / 3)))
  return written[href] ?? (/(^|\/)README\.md(#|$)/.test(href) ? inside.replace('README.md', 'index.md') || './' : href)
}

function adapt(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('written', ({ tokens, env }) => {
    for (const { children } of tokens) {
      let isNamed = false
      for (const token of children ?? []) {
        if (token.type === 'link_close' && isNamed) token.tag = 'span'
        if (token.type !== 'link_open') continue
        const href = siteLink(token.attrGet('href') ?? '', env.relativePath)
        token.attrSet('href', href)
        isNamed = outside.test(href)
        if (isNamed) [token.tag, token.attrs] = ['span', null]
      }
    }
  })
  // The rule of pages would make them pages too.
  const { link_open: openPage } = markdown.renderer.rules
  markdown.renderer.rules.link_open = (tokens, i, options, env, self) => {
    const href = tokens[i]?.attrGet('href') ?? ''
    const isPage = tokens[i]?.tag === 'a' && !isFile(href)
    return isPage && openPage ? openPage(tokens, i, options, env, self) : self.renderToken(tokens, i, options)
  }
  const { fence } = markdown.renderer.rules
  markdown.renderer.rules.fence = (tokens, i, options, env, self) => {
    const { info = '', content = '' } = tokens[i] ?? {}
    if (info === 'mermaid')
      return `<MermaidDiagram><pre v-pre>${markdown.utils.escapeHtml(content)}</pre></MermaidDiagram>`
    return fence?.(tokens, i, options, env, self) ?? ''
  }
  // The only HTML that becomes some: TypeDoc names the rows of its tables.
  markdown.inline.ruler.push('named', (state, isSilent) => {
    const [anchor] = /^<a id="[\w-]+"><\/a>/.exec(state.src.slice(state.pos)) ?? []
    if (anchor === undefined) return false
    if (!isSilent) state.push('html_inline', '', 0).content = anchor
    state.pos += anchor.length
    return true
  })
}

const headingOf = (page: string) => /^# (.+)$/m.exec(readFileSync(join(docs, `${page}.md`), 'utf8'))?.[1] ?? page

function sidebar(language: keyof typeof menu) {
  const prefix = language === 'en' ? '/' : `/${language}/`
  const groups = Object.entries(menu[language]).map(([text, pages]) => ({
    text,
    items: pages.map(page => ({ text: headingOf(`${prefix}${page}`), link: `${prefix}${page}` })),
  }))
  // After the areas of the API.
  return groups.toSpliced(2, 0, language === 'en' ? reference : { ...reference, text: 'Referência, em inglês' })
}

const labelsInPortuguese = {
  outline: { level: [2, 3] as [number, number], label: 'Nesta página' },
  docFooter: { prev: 'Página anterior', next: 'Próxima página' },
  ...{ returnToTopLabel: 'Voltar ao topo', sidebarMenuLabel: 'Menu', langMenuLabel: 'Mudar de idioma' },
  ...{ darkModeSwitchLabel: 'Aparência', lightModeSwitchTitle: 'Tema claro', darkModeSwitchTitle: 'Tema escuro' },
  notFound: { title: 'Página não encontrada', quote: '', linkText: 'Ir para o início' },
}

const searchInPortuguese = {
  button: { buttonText: 'Buscar', buttonAriaLabel: 'Buscar' },
  modal: {
    ...{ displayDetails: 'Mostrar detalhes', resetButtonTitle: 'Limpar', backButtonTitle: 'Fechar' },
    noResultsText: 'Nada encontrado para',
    footer: { selectText: 'abrir', navigateText: 'navegar', closeText: 'fechar' },
  },
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
  markdown: { html: false, config: adapt },
  // The methods of an interface and the options of a group are headings of the third level.
  themeConfig: {
    search: { provider: 'local', options: { locales: { 'pt-BR': { translations: searchInPortuguese } } } },
    outline: [2, 3],
    // Not every page has one in the other language.
    i18nRouting: false,
  },
  locales: {
    root: { label: 'English', lang: 'en', themeConfig: { sidebar: sidebar('en') } },
    'pt-BR': { label: 'Português', lang: 'pt-BR', themeConfig: { ...labelsInPortuguese, sidebar: sidebar('pt-BR') } },
  },
  buildEnd({ outDir }) {
    const isWanted = (path: string) => !path.endsWith('.md')
    for (const each of folders) cpSync(join(docs, each), join(outDir, each), { recursive: true, filter: isWanted })
  },
})
