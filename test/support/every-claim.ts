/** Every field that a request may have (document 2, section 2). */
export const everyClaim = {
  nome: 'ANA DE EXEMPLO',
  sexo: 'F',
  nacionalidade: 1,
  filiacao: { nome_mae: 'EVA DE EXEMPLO', nome_pai: 'IVO DE EXEMPLO' },
  documento: { tipo: 2, numero: '0000000002', orgao_expedidor: 'SSP', uf_expedidor: 'RJ' },
  endereco: {
    logradouro: 'RUA UM',
    numero: '10',
    complemento: 'CASA 2',
    bairro: 'CENTRO',
    cep: '20010000',
    municipio: 'RIO DE JANEIRO',
    uf: 'RJ',
  },
  cnh: {
    categoria: 'AB',
    numero_registro: '00000000002',
    data_primeira_habilitacao: '2010-03-01',
    data_validade: '2031-03-01',
    registro_nacional_estrangeiro: 'X1',
    data_ultima_emissao: '2021-03-01',
    codigo_situacao: '3',
  },
  data_nascimento: '1980-02-29',
  situacao_cpf: 'regular',
}
