import { mount } from 'svelte';
import App from './App.svelte';
import './lab.css';

const host = document.querySelector<HTMLElement>('#app');
if (host) mount(App, { target: host });
