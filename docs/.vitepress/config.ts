import { defineConfig } from 'vitepress'

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
    'Para começar': ['start', 'glossary'],
    'Áreas da API': ['consents', 'validations', 'notifications', 'subscriptions', 'erasure'],
    Operação: ['command-line', 'running', 'operating'],
    Testes: ['simulating', 'testing'],
  },
}

const titles: Readonly<Record<string, string>> = {
  'command-line': 'command line, console',
  log: 'tables',
}

function sidebar(language: keyof typeof menu) {
  const prefix = language === 'en' ? '/' : `/${language}/`
  return Object.entries(menu[language]).map(([text, pages]) => ({
    text,
    items: pages.map(page => ({ text: titles[page] ?? page, link: `${prefix}${page}` })),
  }))
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
    /^\.\/deploy\//,
  ],
  markdown: { html: false },
  themeConfig: { search: { provider: 'local' } },
  locales: {
    root: { label: 'English', lang: 'en', themeConfig: { sidebar: sidebar('en') } },
    'pt-BR': { label: 'Português', lang: 'pt-BR', themeConfig: { sidebar: sidebar('pt-BR') } },
  },
})
