import { useData } from 'vitepress'
import { defineComponent, h, onMounted, ref, useId, watch } from 'vue'

/** Draws the Mermaid text in its slot, in the colours of the page. Until then, and without scripts, the text is shown. */
export const MermaidDiagram = defineComponent((_, { slots }) => {
  const { isDark } = useData()
  const id = `mermaid-${useId()}`
  const shown = ref<HTMLElement>()
  const picture = ref('')
  let text = ''

  async function draw(): Promise<void> {
    // Only a page with a diagram loads it: it is as large as the rest of the site.
    const { default: mermaid } = await import('mermaid')
    mermaid.initialize({
      startOnLoad: false,
      // As GitHub draws them: what Mermaid would use itself is twice as large to load, and slow.
      layout: 'dagre',
      theme: isDark.value ? 'dark' : 'default',
      // The higher lines of VitePress would not fit the boxes.
      themeCSS: 'p { line-height: inherit }',
      // A wide one is not made smaller, so that its words can be read: it scrolls.
      state: { useMaxWidth: false },
    })
    picture.value = (await mermaid.render(id, text)).svg
  }

  onMounted(() => {
    text = shown.value?.textContent ?? ''
    watch(isDark, draw, { immediate: true })
  })
  return () =>
    picture.value
      ? h('div', { style: 'overflow-x: auto', innerHTML: picture.value })
      : h('div', { style: 'overflow-x: auto', ref: shown }, slots.default?.())
})
