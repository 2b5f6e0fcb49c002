import { mount } from 'svelte';
import { prepareWorker } from '../engine/simulation';
import App from './App.svelte';
import './lab.css';

prepareWorker();

const host = document.querySelector<HTMLElement>('#app');
if (host) mount(App, { target: host });
