/** The YAML library behind a static import: of a CommonJS library the bundle's dynamic import has no named exports. */
export { parse } from 'yaml';
