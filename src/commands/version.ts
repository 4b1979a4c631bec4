/** Version of the package, put in by the build. */
export const VERSION = process.env['TABBY_LOAD_VERSION'] ?? 'development';
