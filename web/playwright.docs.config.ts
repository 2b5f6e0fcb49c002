import { defineConfig } from '@playwright/test';
import pages from './playwright.config';

/** Tests of the built documentation, after `make docs`. */
export default defineConfig(pages, { testDir: 'tests-docs', fullyParallel: true, outputDir: 'test-results/docs' });
